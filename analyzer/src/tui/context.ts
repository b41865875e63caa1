import type { Data } from './data.ts';
import type { Line } from './line.ts';
import type { Session } from './session.ts';
import type { Frame, UiState } from './state.ts';
import type { Theme } from './theme.ts';

/** What a screen may look at. Nothing else decides what it draws. */
export interface Context {
  readonly session: Session;
  readonly data: Data;
  readonly state: UiState;
  readonly frame: Frame;
  readonly theme: Theme;
  readonly columns: number;
  /** Lines for the body: the screen's height less tabs, heading and footer. */
  readonly rows: number;
}

/** A drawn body, and what keys need to know of the list in it. */
export interface Screenful {
  /** Left and right part of the second line. */
  readonly heading: Line;
  readonly aside?: Line;
  readonly lines: readonly Line[];
  /** Rows of the list and how many of them one page shows; absent where nothing can be selected. */
  readonly list?: {
    readonly count: number;
    readonly page: number;
    readonly top: number;
    /** Lines of a text, where it is a text that scrolls: what `/` looks through. */
    readonly texts?: readonly string[];
  };
  /** What `y` copies here. */
  readonly copy?: string;
}

export type Screen = (context: Context) => Screenful;
