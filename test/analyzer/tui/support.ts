import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import type { Input } from '../../../analyzer/src/model/input.ts';
import { buildReport } from '../../../analyzer/src/report/build.ts';
import { buildSession } from '../../../analyzer/src/tui/build-session.ts';
import { Data } from '../../../analyzer/src/tui/data.ts';
import { draw } from '../../../analyzer/src/tui/frame.ts';
import { plain } from '../../../analyzer/src/tui/line.ts';
import { type Effect, press, settle } from '../../../analyzer/src/tui/press.ts';
import type { Session } from '../../../analyzer/src/tui/session.ts';
import { initialState, type UiState } from '../../../analyzer/src/tui/state.ts';
import type { Theme } from '../../../analyzer/src/tui/theme.ts';
import { toInput } from '../../sim/export/index.ts';
import { FULL_EXPORT } from '../../sim/export/types.ts';
import { blueprint } from '../../sim/generate.ts';
import { simulate } from '../../sim/simulate.ts';

export const COLOR: Theme = { depth: 24, light: false, ascii: false };
export const MONO_ASCII: Theme = { depth: 0, light: false, ascii: true };

/** A simulated service with a hot row, under rising steps: every view has something to show. */
export function hotRowInput(): Input {
  const { scenario } = blueprint(12);
  const steps = [60, 120, 180, 240, 300].map((arrivalsPerSecond) => ({
    arrivalsPerSecond,
    durationNs: 1e9,
    phase: 'ramp' as const,
  }));
  const run = simulate(
    {
      ...scenario,
      load: {
        ...scenario.load,
        steps: [...steps, { arrivalsPerSecond: 60, durationNs: 2e9, phase: 'recovery' }],
      },
    },
    { record: true, stopAtEnd: false },
  );
  return toInput(run, FULL_EXPORT);
}

export function sessionOf(input: Input, title = 'case'): Session {
  const analysis = analyze(input, {});
  return buildSession(analysis, buildReport(analysis), title, {});
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

  text(): string {
    return this.lines().join('\n');
  }
}
