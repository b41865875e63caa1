import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cleanup, render } from 'ink-testing-library';
import stringWidth from 'string-width';
import { App } from '../../../analyzer/src/tui/App.tsx';
import type { Session } from '../../../analyzer/src/tui/session.ts';
import { COLOR, hotRowInput, liveOf, sessionOf } from './support.ts';

const session = sessionOf(hotRowInput());

/** The application in the terminal of ink-testing-library: 100 columns of 24 rows. */
async function inApp(
  shown: Session,
  use: (press: (keys: string, mark: RegExp) => Promise<string>) => Promise<void>,
): Promise<void> {
  const app = render(
    <App
      live={liveOf(shown)}
      theme={COLOR}
      command="waitfall case"
      perform={async ({ kind }) => `done: ${kind}`}
      suspend={() => {}}
      onStop={() => () => {}}
    />,
  );
  const frame = (): string => (app.lastFrame() ?? '').replaceAll(/\u001b\[[\d;]*m/g, '');
  try {
    await use(async (keys, mark) => {
      if (keys !== '') app.stdin.write(keys);
      for (let tries = 0; tries < 400 && !mark.test(frame()); tries++) await sleep(5);
      assert.match(frame(), mark);
      return frame();
    });
  } finally {
    cleanup();
  }
}

test('from the start screen b leads to the slowest blocked request, and b again to its blocker; B leads back', async () => {
  await inApp(session, async (press) => {
    const start = await press('', /lock:campaign fills first/);
    assert.match(start.split('\n').at(-1)!, /b slowest blocked trace/);
    const waiting = await press('b', /held up by [0-9a-f]{8}/);
    assert.match(waiting.split('\n').at(-1)!, /b blocker/);
    await press('b', /blocker 1 of the chain/);
    await press('B', /trace \d+ of \d+/);
  });
});

test('what is typed into a prompt stands in the footer, in one read or in many; Esc leaves it', async () => {
  await inApp(session, async (press) => {
    await press('5', /of \d[\d,]* traces/);
    await press('/', /filter: /);
    await press('dur', /filter: dur▏/);
    await press('ation>50ms', /filter: duration>50ms▏/);
    await press('\r', /filter duration>50ms/);
    await press('/', /filter: duration>50ms▏/);
    await press('\u001b', /traces of the|Esc back|Enter open/);
  });
});

test('wide, combining and bidirectional characters in names take the cells that they claim', async () => {
  const odd = [
    'GET /キャンペーン/:id',
    'GET /cafe\u0301',
    'GET /\u202eabc',
    'GET /👩‍💻',
    'GET /\u0007\u001b[31m',
  ];
  const { traces, report } = session;
  const named: Session = {
    ...session,
    traces: { ...traces, routes: odd, route: traces.route.map((_, index) => index % odd.length) },
    report: { ...report, routes: report.routes.map((route, index) => ({ ...route, route: odd[index] })) },
  };
  await inApp(named, async (press) => {
    for (const [key, mark] of [
      ['5', /of \d[\d,]* traces/],
      ['4', /\d routes/],
    ] as const) {
      const frame = await press(key, mark);
      assert.match(frame, /GET \/キ.*\/:id/);
      assert.doesNotMatch(frame, /\u202e|\u0007|\u001b/);
      for (const line of frame.split('\n')) assert.ok(stringWidth(line.trimEnd()) <= 100, line);
    }
  });
});
