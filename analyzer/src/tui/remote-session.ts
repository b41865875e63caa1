import { Worker } from 'node:worker_threads';
import { emptySession } from './empty-session.ts';
import type { Session } from './session.ts';
import type { Answer, Job, Question } from './worker.ts';

/** An analysis that is under way, as far as it has come. */
export interface LiveSession {
  /** A new object whenever more is known. */
  readonly session: Session;
  /** Fulfilled when the analysis is complete; rejected with the worker's own message where it cannot be. */
  readonly complete: Promise<void>;
  /** Calls back when more is known. @returns what ends that. */
  onChange(listener: () => void): () => void;
  close(): void;
}

/** Starts the analysis in a worker, so that keys are answered meanwhile; questions go to it. */
export function startSession(job: Job): LiveSession {
  // From the sources the worker is its own file; in the bundle it is one beside this one.
  const file = import.meta.url.endsWith('.ts') ? './worker.ts' : './tui-worker.js';
  const worker = new Worker(new URL(file, import.meta.url), { workerData: job });
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  const listeners = new Set<() => void>();
  let asked = 0;
  const ask = <T>(method: Question['method'], ...args: readonly unknown[]): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      asked++;
      waiting.set(asked, { resolve, reject });
      worker.postMessage({ id: asked, method, args } satisfies Question);
    });
  let session = emptySession(job.title, {
    trace: (index) => ask('trace', index),
    span: (row) => ask('span', row),
    waits: (resource, limit) => ask('waits', resource, limit),
    whatIf: (change) => ask('whatIf', change),
    step: (window) => ask('step', window),
    split: (attribute) => ask('split', attribute),
  });
  const become = (set: Partial<Session>): void => {
    session = { ...session, ...set };
    for (const listener of listeners) listener();
  };
  const complete = new Promise<void>((resolve, reject) => {
    const fail = (error: Error): void => {
      reject(error);
      for (const { reject: refuse } of waiting.values()) refuse(error);
      waiting.clear();
    };
    worker.once('error', fail);
    worker.on('message', (answer: Answer) => {
      switch (answer.kind) {
        case 'progress':
          become({ progress: answer.progress });
          return;
        case 'failed':
          fail(new Error(answer.message));
          void worker.terminate();
          return;
        case 'requests': {
          const { input, requests, routes, traces } = answer;
          become({ stage: 'requests', traces, report: { ...session.report, input, requests, routes } });
          return;
        }
        case 'ready': {
          const { report, comparison } = answer;
          become({ stage: 'complete', progress: null, report, ...(comparison ? { comparison } : {}) });
          resolve();
          return;
        }
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
  return {
    get session() {
      return session;
    },
    complete,
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => void worker.terminate(),
  };
}
