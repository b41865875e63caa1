import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import type { Input } from '../../../analyzer/src/model/input.ts';
import { buildReport } from '../../../analyzer/src/report/build.ts';
import { buildSession } from '../../../analyzer/src/tui/build-session.ts';
import { Data } from '../../../analyzer/src/tui/data.ts';
import { draw } from '../../../analyzer/src/tui/frame.ts';
import { plain } from '../../../analyzer/src/tui/line.ts';
import { type Effect, press, settle } from '../../../analyzer/src/tui/press.ts';
import type { LiveSession } from '../../../analyzer/src/tui/remote-session.ts';
import type { Session } from '../../../analyzer/src/tui/session.ts';
import { initialState, type UiState } from '../../../analyzer/src/tui/state.ts';
import { paint, type Theme } from '../../../analyzer/src/tui/theme.ts';
import { toInput, writeOtlp } from '../../sim/export/index.ts';
import { FULL_EXPORT } from '../../sim/export/types.ts';
import { exponential } from '../../sim/random.ts';
import type { Run } from '../../sim/run.ts';
import { simulate } from '../../sim/simulate.ts';
import { bareScenario } from '../../sim/small.ts';

export const COLOR: Theme = { depth: 24, light: false, ascii: false };
export const MONO_ASCII: Theme = { depth: 0, light: false, ascii: true };

const ms = (mean: number) => exponential(mean * 1e6);

/** A small service with a hot row: a lock inside a pooled connection inside an admission slot. */
const HOT_ROW = bareScenario({
  seed: 7,
  admission: { slots: 40, queue: 200, timeoutNs: null },
  cpu: { receive: ms(0.2), callback: ms(0.05), resume: ms(0.05), respond: ms(0.1) },
  pools: [
    {
      name: 'signup',
      kind: 'pg',
      size: 6,
      server: 0,
      acquireTimeoutNs: null,
      churn: 0,
      idleTimeoutNs: null,
      handshake: ms(4),
      handshakes: 2,
      handshakesStated: true,
    },
  ],
  servers: [{ address: 'db', port: 5432, kind: 'postgres', capacity: 64, slowdownPerCall: 0 }],
  locks: [{ relation: 'campaign', capacity: 1, hotShare: 1, hotKeys: 1, coldKeys: 1 }],
  routes: [
    {
      name: 'POST /signup',
      weight: 0.7,
      steps: [
        {
          do: 'transaction',
          pool: 0,
          body: [
            { do: 'statement', verb: 'BEGIN', table: '', cost: ms(0.2) },
            { do: 'statement', verb: 'UPDATE', table: 'campaign', cost: ms(0.5), lock: 0 },
            { do: 'statement', verb: 'INSERT', table: 'audit', cost: ms(4) },
            { do: 'statement', verb: 'COMMIT', table: '', cost: ms(0.5) },
          ],
        },
      ],
    },
    {
      name: 'GET /signup/:id',
      weight: 0.3,
      steps: [
        {
          do: 'transaction',
          pool: 0,
          body: [{ do: 'statement', verb: 'SELECT', table: 'registration', cost: ms(0.8) }],
        },
      ],
    },
  ],
});

/** A run of the hot-row service under rising steps, past its knee, and after: every view has something to show. */
export function hotRowRun(): Run {
  const ramp = [60, 120, 180, 240, 300, 360].map((arrivalsPerSecond) => ({
    arrivalsPerSecond,
    durationNs: 15e8,
    phase: 'ramp' as const,
  }));
  const steps = [...ramp, { arrivalsPerSecond: 60, durationNs: 2e9, phase: 'recovery' as const }];
  const load = { ...HOT_ROW.load, steps };
  return simulate({ ...HOT_ROW, load }, { record: true, stopAtEnd: false });
}

export function hotRowInput(): Input {
  return toInput(hotRowRun(), FULL_EXPORT);
}

/** Writes the same run as a run directory: traces, load plan and manifest. */
export async function writeHotRowRun(directory: string): Promise<void> {
  await writeOtlp(hotRowRun(), FULL_EXPORT, directory);
  const manifest = { name: 'hot row', service: { pools: { signup: 6 }, slots: 40 }, seed: HOT_ROW.seed };
  writeFileSync(join(directory, 'manifest.json'), JSON.stringify(manifest));
}

export function sessionOf(input: Input, title = 'case'): Session {
  const analysis = analyze(input, {});
  return buildSession(analysis, buildReport(analysis), title, {});
}

/** A session that is complete from the start, or grows as a test says. */
export function liveOf(first: Session): LiveSession & { become(next: Session): void } {
  let session = first;
  const { promise: complete, resolve } = Promise.withResolvers<void>();
  if (first.stage === 'complete') resolve();
  const listeners = new Set<() => void>();
  return {
    get session() {
      return session;
    },
    complete,
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => {},
    become: (next) => {
      session = next;
      for (const listener of listeners) listener();
      if (next.stage === 'complete') resolve();
    },
  };
}

/** A reader at a terminal: types keys, waits for what they load, and looks at the screen. */
export class Reader {
  readonly data: Data;
  state: UiState;
  readonly effects: Effect[] = [];
  columns: number;
  rows: number;
  theme: Theme;

  constructor(session: Session, columns = 80, rows = 24, theme: Theme = COLOR) {
    this.data = new Data(session, () => {});
    this.state = initialState(session);
    this.columns = columns;
    this.rows = rows;
    this.theme = theme;
  }

  async type(...keys: readonly string[]): Promise<this> {
    for (const key of keys) {
      await this.loaded();
      const { list, copy } = draw(this.state, this.data, this.columns, this.rows, this.theme);
      const result = press(this.state, key, { data: this.data, list, copy, command: 'waitfall case' });
      this.state = result.state;
      this.effects.push(...result.effects);
    }
    await this.loaded();
    return this;
  }

  /** Draws twice with a turn of the event loop between, so that whatever a screen asked for has come. */
  async loaded(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) {
      draw(this.state, this.data, this.columns, this.rows, this.theme);
      await new Promise((resolve) => setImmediate(resolve));
      this.state = settle(this.state, this.data);
    }
  }

  lines(): string[] {
    return draw(this.state, this.data, this.columns, this.rows, this.theme).lines.map(plain);
  }

  /** The lines as a terminal without colours shows them, blanks at their ends cut off. */
  shown(): string[] {
    return draw(this.state, this.data, this.columns, this.rows, this.theme).lines.map((line) =>
      paint(line, { ...this.theme, depth: null })
        .replaceAll('\u2800', ' ')
        .trimEnd(),
    );
  }

  text(): string {
    return this.lines().join('\n');
  }
}
