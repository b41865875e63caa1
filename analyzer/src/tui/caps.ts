import type { ColorDepth, Theme } from './theme.ts';

export interface Wishes {
  readonly color?: boolean;
  readonly ascii?: boolean;
  readonly light?: boolean;
}

/**
 * Decides what the terminal can show from its environment. `NO_COLOR` and `TERM=dumb` keep bold and reverse;
 * something that is not a terminal gets no escape at all.
 */
export function detectTheme(
  env: Readonly<Record<string, string | undefined>>,
  isTty: boolean,
  wishes: Wishes = {},
): Theme {
  const term = env['TERM'] ?? '';
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  const utf8 = /utf-?8/i.test(locale);
  return {
    depth: colorDepth(env, term, isTty, wishes),
    light: wishes.light ?? isLight(env['COLORFGBG']),
    ascii: wishes.ascii ?? (term === 'linux' || (!utf8 && process.platform !== 'win32')),
  };
}

function colorDepth(
  env: Readonly<Record<string, string | undefined>>,
  term: string,
  isTty: boolean,
  wishes: Wishes,
): ColorDepth {
  if (!isTty) return null;
  if (wishes.color === false || env['NO_COLOR'] || term === 'dumb') return 0;
  switch (env['FORCE_COLOR']) {
    case '0':
      return 0;
    case '1':
      return 16;
    case '2':
      return 256;
    case '3':
      return 24;
  }
  if (/^(truecolor|24bit)$/.test(env['COLORTERM'] ?? '')) return 24;
  return term.endsWith('256color') ? 256 : 16;
}

/** `COLORFGBG` is "foreground;background" in the 16-colour set; 7 and 15 are light. */
function isLight(value: string | undefined): boolean {
  const background = value?.split(';').at(-1);
  return background === '7' || background === '15';
}
