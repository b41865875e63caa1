export const MS = 1_000_000;

/** A tree of one span. */
export const single = (root, ns) => ({ root, kind: 'true', ns, spans: 1, self: { [root]: ns } });
