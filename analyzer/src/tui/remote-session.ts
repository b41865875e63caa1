import { Worker } from 'node:worker_threads';
import type { Session } from './session.ts';
import type { Answer, Job, Question } from './worker.ts';

export interface RemoteSession {
  readonly session: Session;
  readonly close: () => void;
}

/**
 * Starts the analysis in a worker. @returns a session once it is done; its questions go to the worker.
 * Rejects with the worker's own message when the input cannot be read.
 */
export async function startSession(job: Job, onProgress: (text: string) => void): Promise<RemoteSession> {
  // From the sources the worker is its own file; in the bundle it is one beside this one.
  const file = import.meta.url.endsWith('.ts') ? './worker.ts' : './tui-worker.js';
  const worker = new Worker(new URL(file, import.meta.url), { workerData: job });
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  let asked = 0;
  const ask = <T>(method: Question['method'], ...args: readonly unknown[]): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      asked++;
      waiting.set(asked, { resolve, reject });
      worker.postMessage({ id: asked, method, args } satisfies Question);
    });
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      reject(error);
      for (const { reject: refuse } of waiting.values()) refuse(error);
      waiting.clear();
    };
    worker.once('error', fail);
    worker.on('message', (answer: Answer) => {
      switch (answer.kind) {
        case 'progress':
          onProgress(answer.text);
          return;
        case 'failed':
          fail(new Error(answer.message));
          void worker.terminate();
          return;
        case 'ready':
          resolve({
            session: {
              title: answer.title,
              report: answer.report,
              traces: answer.traces,
              ...(answer.comparison ? { comparison: answer.comparison } : {}),
              trace: (index) => ask('trace', index),
              span: (row) => ask('span', row),
              waits: (resource, limit) => ask('waits', resource, limit),
              whatIf: (change) => ask('whatIf', change),
              step: (window) => ask('step', window),
              split: (attribute) => ask('split', attribute),
            },
            close: () => void worker.terminate(),
          });
          return;
        case 'value':
          waiting.get(answer.id)?.resolve(answer.value as never);
          waiting.delete(answer.id);
          return;
        case 'error':
          waiting.get(answer.id)?.reject(new Error(answer.message));
          waiting.delete(answer.id);
      }
    });
  });
}
