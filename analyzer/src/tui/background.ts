/** Asks for the background colour (OSC 11), then for the device attributes, which every terminal answers: a fence. */
const ASK = '\u001b]11;?\u001b\\\u001b[c';
/** A terminal that has not answered by then is taken for one that does not answer. */
const CAP_MS = 150;
const COLOR = /\u001b\]11;rgb:([0-9a-f]{2,4})\/([0-9a-f]{2,4})\/([0-9a-f]{2,4})/i;
const FENCE = /\u001b\[\?[\d;]*c/;

/** Relative luminance from which a background counts as light. */
const LIGHT = 0.5;

/**
 * @returns whether an answer names a light background; undefined when it names none.
 * Luminance: ITU-R BT.709 weights on the unlinearised channels, exact enough to tell light from dark.
 */
export function isLightAnswer(answer: string): boolean | undefined {
  const match = COLOR.exec(answer);
  if (!match) return undefined;
  const [r, g, b] = match.slice(1).map((hex) => Number.parseInt(hex, 16) / (16 ** hex.length - 1));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b >= LIGHT;
}

/**
 * Asks the terminal whether its background is light, before anything else reads from it: afterwards the answer would
 * be taken for typed keys. Keys typed meanwhile are put back. @returns undefined when the terminal does not say.
 */
export async function askBackground(
  stdin: NodeJS.ReadStream,
  stdout: NodeJS.WriteStream,
): Promise<boolean | undefined> {
  if (typeof stdin.setRawMode !== 'function') return undefined;
  stdin.setRawMode(true);
  let answer = '';
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(cap);
      stdin.off('data', take);
      stdin.pause();
      resolve();
    };
    const take = (chunk: Buffer | string): void => {
      answer += chunk.toString();
      if (answer.includes('\u0003')) {
        stdin.setRawMode(false);
        process.kill(process.pid, 'SIGINT');
      }
      if (FENCE.test(answer)) done();
    };
    const cap = setTimeout(done, CAP_MS);
    stdin.on('data', take);
    stdout.write(ASK);
  });
  stdin.setRawMode(false);
  const typed = answer.replace(/\u001b\]11;[^\u0007\u001b]*(?:\u0007|\u001b\\)/g, '').replace(FENCE, '');
  if (typed !== '') stdin.unshift(Buffer.from(typed));
  return isLightAnswer(answer);
}
