import assert from 'node:assert/strict';
import { test } from 'node:test';
import { render } from 'ink';
import { App } from '../../../analyzer/src/tui/App.tsx';
import { emptySession } from '../../../analyzer/src/tui/empty-session.ts';
import { draw } from '../../../analyzer/src/tui/frame.ts';
import { plain } from '../../../analyzer/src/tui/line.ts';
import type { Effect } from '../../../analyzer/src/tui/press.ts';
import { COLOR, hotRowInput, liveOf, Reader, sessionOf } from './support.ts';
import { In, Out } from './terminal.ts';

const session = sessionOf(hotRowInput());

async function inApp(
  columns: number,
  rows: number,
  use: (out: Out, input: In, effects: Effect[], ended: Promise<unknown>) => Promise<void>,
  { isScreenReaderEnabled = false, live = liveOf(session) } = {},
): Promise<void> {
  const out = new Out(columns, rows);
  const input = new In();
  const effects: Effect[] = [];
  const app = render(
    <App
      live={live}
      theme={COLOR}
      command="waitfall case"
      perform={async (effect) => {
        effects.push(effect);
        if (effect.kind === 'save') throw new Error('disk full');
        return `done: ${effect.kind}`;
      }}
      suspend={() => {}}
      onStop={() => () => {}}
    />,
    {
      stdout: out as unknown as NodeJS.WriteStream,
      stdin: input as unknown as NodeJS.ReadStream,
      debug: true,
      isScreenReaderEnabled,
      interactive: true,
      patchConsole: false,
      exitOnCtrlC: false,
    },
  );
  const ended = app.waitUntilExit().catch((error: unknown) => error);
  try {
    await out.drawn(0);
    await use(out, input, effects, ended);
  } finally {
    app.unmount();
  }
}

test('keys in, frames out: what the application shows is what the screens draw', async () => {
  await inApp(100, 30, async (out, input) => {
    const reader = new Reader(session, 100, 30);
    for (const [keys, names] of [
      ['2', ['2']],
      ['jj', ['j', 'j']],
      ['3', ['3']],
      ['\r', ['enter']],
      ['\u001b', ['escape']],
      ['5', ['5']],
      ['\u001b[B', ['down']],
      ['\r', ['enter']],
      ['p', ['p']],
    ] as const) {
      await input.press(keys, out);
      await reader.type(...names);
      const { lines } = draw(reader.state, reader.data, 100, 30, COLOR);
      assert.deepEqual(
        out.lines().map((line) => line.trimEnd()),
        lines.map((line) => plain(line).trimEnd()),
        names.join(),
      );
    }
  });
});

test('a resize is drawn at the new size, also too small and back', async () => {
  await inApp(80, 24, async (out) => {
    const before = out.lines();
    await out.resize(120, 40);
    assert.equal(out.lines().length, 39);
    await out.resize(40, 10);
    assert.match(out.lines()[0], /waitfall needs 60x18, this is 40x10/);
    await out.resize(80, 24);
    assert.deepEqual(out.lines(), before);
  });
});

test('what a key did outside is said in the footer, failures too', async () => {
  await inApp(80, 24, async (out, input, effects) => {
    await input.press('y', out);
    assert.match(out.lines().at(-1)!, /done: copy/);
    await input.press('o', out);
    assert.match(out.lines().at(-1)!, /disk full/);
    assert.deepEqual(
      effects.map(({ kind }) => kind),
      ['copy', 'save'],
    );
  });
});

test('an answer of the terminal that comes late is not taken for keys', async () => {
  await inApp(80, 24, async (out, input) => {
    const before = out.lines();
    await input.press('\u001b]11;rgb:ffff/ffff/ffff\u001b\\', out);
    assert.deepEqual(out.lines(), before);
  });
});

test('a screen reader is given the lines as plain text', async () => {
  await inApp(
    80,
    24,
    async (out) => {
      const spoken = out.frames.join('\n');
      assert.match(spoken, /lock:campaign fills first/);
      assert.doesNotMatch(spoken, /\u001b\[3[0-9]/);
    },
    { isScreenReaderEnabled: true },
  );
});

test('a screen that cannot be drawn ends the application with its own error', async () => {
  const broken = { ...session, report: { ...session.report, input: undefined } } as unknown as typeof session;
  await inApp(
    80,
    24,
    async (out, input, _effects, ended) => {
      await input.press('6', out);
      assert.ok((await ended) instanceof TypeError);
    },
    { live: liveOf(broken) },
  );
});

test('while the analysis goes on, lists open as they become known and the reader keeps his place', async () => {
  const { trace, span, waits, whatIf, step, split } = session;
  const empty = emptySession(session.title, { trace, span, waits, whatIf, step, split });
  const live = liveOf({
    ...empty,
    progress: { phase: 'reading', bytes: 42e6, totalBytes: 100e6, spans: 123_456 },
  });
  await inApp(
    80,
    24,
    async (out, input) => {
      assert.match(out.lines().join('\n'), /read +42 % of .* 123,456 spans/);
      const { input: read, requests, routes } = session.report;
      await input.press('o', out);
      assert.match(out.lines().at(-1)!, /not known yet/);
      await input.press('5', out);
      assert.match(out.lines().join('\n'), /Traces, routes and input come as soon as/);
      let seen = out.frames.length;
      live.become({
        ...empty,
        stage: 'requests',
        progress: { phase: 'analysing', bytes: 100e6, totalBytes: 100e6, spans: 300_000 },
        traces: session.traces,
        report: { ...empty.report, input: read, requests, routes },
      });
      await out.drawn(seen);
      await input.press('jj', out);
      const selected = out.lines().find((line) => line.startsWith('▸'));
      assert.ok(selected, out.lines().join('\n'));
      await input.press('1', out);
      assert.match(out.lines().join('\n'), /Traces \(5\), routes \(4\) and input \(6\) are there/);
      await input.press('5', out);
      seen = out.frames.length;
      live.become(session);
      await out.drawn(seen);
      assert.ok(out.lines().includes(selected), 'the same trace is selected');
      await input.press('1', out);
      assert.match(out.lines().join('\n'), /lock:campaign fills first/);
    },
    { live },
  );
});
