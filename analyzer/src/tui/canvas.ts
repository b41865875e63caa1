/** What Ink draws for a picture. Nothing else that Ink is given here is text. */
const NUMBER = /<picture \d+>/;

/** Empties the screen, in the terminal's own colours. */
const CLEAR = '\u001b[0m\u001b[2J';

/** Writes that leave the picture as it is: synchronized output and the cursor switched on or off. */
const HARMLESS = /^(?:\u001b\[\?(?:2026|25)[hl])*$/;

/**
 * Puts finished lines on the alternate screen, only those that have changed. Ink owns the terminal and says when to
 * draw, but takes every picture apart into cells: at 200x60 that costs several times what drawing it does. So Ink is
 * given the number of a picture for a picture, and in the stream that number is replaced by its lines.
 */
export class Canvas {
  /** For Ink to write to. */
  readonly stdout: NodeJS.WriteStream;
  readonly #terminal: NodeJS.WriteStream;
  #number = 0;
  #lines: readonly string[] = [];
  /** What stands on the terminal; empty where that is not known. */
  #painted: readonly string[] = [];

  constructor(terminal: NodeJS.WriteStream) {
    this.#terminal = terminal;
    this.stdout = new Proxy(terminal, {
      get: (target, key) => {
        if (key === 'write') return this.#write;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    terminal.on('resize', this.#forget);
  }

  /** Takes the next picture: lines that fill the width. @returns what Ink is to draw for it. */
  show(lines: readonly string[]): string {
    if (lines !== this.#lines) {
      this.#lines = lines;
      this.#number++;
    }
    return `<picture ${this.#number}>`;
  }

  close(): void {
    this.#terminal.off('resize', this.#forget);
  }

  readonly #forget = (): void => {
    this.#painted = [];
  };

  readonly #write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    const text = typeof chunk === 'string' ? chunk : '';
    const ours = NUMBER.test(text);
    if (!ours && !HARMLESS.test(text)) this.#painted = [];
    const out = ours ? this.#changes() : chunk;
    return (this.#terminal.write as (...args: readonly unknown[]) => boolean).call(
      this.#terminal,
      out,
      ...rest,
    );
  };

  #changes(): string {
    // After a resize something may stand where no line of ours comes: below the last one.
    let out = this.#painted.length === 0 ? CLEAR : '';
    this.#lines.forEach((line, row) => {
      if (line !== this.#painted[row]) out += `\u001b[${row + 1};1H${line}`;
    });
    this.#painted = this.#lines;
    return out;
  }
}
