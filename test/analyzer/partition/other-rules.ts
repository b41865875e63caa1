/**
 * Two other rules for "where did the time of this trace go", restated from their public descriptions to be compared with
 * ours: what they do with the same spans, not how their code does it.
 */
export interface Span {
  readonly id: string;
  readonly parent: string | null;
  readonly start: number;
  readonly end: number;
}

/**
 * Last finishing child, as critical-path views draw it (Jaeger UI, Grafana): from the end of a span backwards, step into
 * the child that finished last; from its start, into the child that finished last strictly before that. Children are
 * first cut to their parent. What lies between belongs to the parent; other children do not appear.
 */
export function lastFinishingChild(spans: readonly Span[]): Record<string, number> {
  const owned: Record<string, number> = Object.fromEntries(spans.map(({ id }) => [id, 0]));
  const walk = (span: Span, from: number, to: number): void => {
    const children = spans
      .filter(({ parent }) => parent === span.id)
      .map((child) => ({ ...child, start: Math.max(child.start, from), end: Math.min(child.end, to) }))
      .filter((child) => child.end > child.start);
    let at = to;
    let next = latest(children);
    while (next !== undefined) {
      owned[span.id] += at - next.end;
      walk(next, next.start, next.end);
      at = next.start;
      next = latest(children.filter((child) => child.end < at));
    }
    owned[span.id] += at - from;
  };
  const root = spans.find(({ parent }) => parent === null)!;
  walk(root, root.start, root.end);
  return owned;
}

/**
 * Active leaf (wall-clock partition of vibesys' trace report): each instant belongs to the span without active children
 * that ends latest, wherever in the tree it stands (ties: deeper first, then smaller id). Spans are cut to the root.
 */
export function activeLeaf(spans: readonly Span[]): Record<string, number> {
  const owned: Record<string, number> = Object.fromEntries(spans.map(({ id }) => [id, 0]));
  const root = spans.find(({ parent }) => parent === null)!;
  const depth = (span: Span): number => {
    const parent = spans.find(({ id }) => id === span.parent);
    return parent === undefined ? 0 : depth(parent) + 1;
  };
  const times = spans
    .flatMap(({ start, end }) => [start, end])
    .filter((t) => t >= root.start && t <= root.end);
  const cuts = [...new Set(times)].sort((a, b) => a - b);
  for (let i = 0; i + 1 < cuts.length; i++) {
    const active = spans.filter(({ start, end }) => start <= cuts[i] && cuts[i] < end);
    const leaves = active.filter(({ id }) => !active.some(({ parent }) => parent === id));
    leaves.sort((a, b) => b.end - a.end || depth(b) - depth(a) || (a.id < b.id ? -1 : 1));
    owned[leaves[0].id] += cuts[i + 1] - cuts[i];
  }
  return owned;
}

function latest(spans: readonly Span[]): Span | undefined {
  return spans.reduce<Span | undefined>((a, b) => (a === undefined || b.end > a.end ? b : a), undefined);
}
