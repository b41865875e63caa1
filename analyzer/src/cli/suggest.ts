/** @returns the candidate within two edits of the word (a third of a short one), the closest first; null without one. */
export function suggest(word: string, candidates: readonly string[]): string | null {
  let best: string | null = null;
  let least = Math.min(3, Math.ceil(word.length / 3) + 1);
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

/**
 * As {@link suggest}, for names with parts (`pg-pool:signup`, `POST /signup`): where no name is close as a whole, the
 * only one that contains the word.
 */
export function suggestName(word: string, candidates: readonly string[]): string | null {
  const byLowerCase = new Map(candidates.map((name) => [name.toLowerCase(), name]));
  const close = suggest(word, [...byLowerCase.keys()]);
  if (close !== null) return byLowerCase.get(close) ?? null;
  const containing =
    word === '' ? [] : candidates.filter((name) => name.toLowerCase().includes(word.toLowerCase()));
  return containing.length === 1 ? containing[0] : null;
}

/** Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      row[j] = Math.min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(row[j], before[j - 2] + 1);
      }
    }
    before = previous;
    previous = row;
  }
  return previous[b.length];
}
