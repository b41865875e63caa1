/** One checked rule of an audit record; all records hold the same ones, only the head differs. */
function decision(index: number): object {
  const hash = (index * 2_654_435_761).toString(16).padStart(12, '0');
  return {
    rule: `rule-${index % 400}`,
    field: `attribute.${index % 37}`,
    expected: hash,
    actual: hash,
    ok: true,
  };
}

const decisionsBySize = new Map<number, string>();

/** @returns a JSON array of about `bytes` bytes; built once per size, because moving it is what is measured. */
function decisions(bytes: number): string {
  let text = decisionsBySize.get(bytes);
  if (text === undefined) {
    const parts: string[] = [];
    for (let index = 0, length = 0; length < bytes; index++) {
      const part = JSON.stringify(decision(index));
      parts.push(part);
      length += part.length + 1;
    }
    text = `[${parts.join(',')}]`;
    decisionsBySize.set(bytes, text);
  }
  return text;
}

/** @returns one part of the audit record of a registration: JSON text of about `bytes` bytes. */
export function auditBody(bytes: number, userId: number, registrationId: string): string {
  const head = `{"kind":"signup","user":${userId},"registration":${registrationId},"at":${Date.now()}`;
  return `${head},"decisions":${decisions(bytes - head.length)}}`;
}
