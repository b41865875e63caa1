/** A head longer than this is nobody's answer to us. */
const MAX_HEAD = 64 * 1024;

type State = 'head' | 'body' | 'chunk size' | 'chunk' | 'trailer' | 'until close' | 'done';

/**
 * Reads one response to a POST, https://www.rfc-editor.org/rfc/rfc9112. Only status and head are kept: of the body it
 * is found out where it ends.
 */
export class ResponseReader {
  status = 0;
  /** Whether the connection can be used again. */
  keepsAlive = false;
  readonly #headers = new Map<string, string>();
  #state: State = 'head';
  /** What has come and could not be read yet, one character a byte. */
  #text = '';
  /** Bytes of the body, or of a chunk with its line end, that are still to come. */
  #left = 0;

  /** Whether the body ends with the connection. */
  get endsWithConnection(): boolean {
    return this.#state === 'until close';
  }

  /** @param name in lower case. */
  header(name: string): string | undefined {
    return this.#headers.get(name);
  }

  /** @returns whether the response is complete. Throws for what is not HTTP/1. */
  read(bytes: Buffer): boolean {
    this.#text += bytes.toString('latin1');
    while (this.#state !== 'done') {
      if (!this.#step()) return false;
    }
    // Something after the answer to the only request there is.
    if (this.#text !== '') this.keepsAlive = false;
    return true;
  }

  /** @returns whether it got on; else more bytes are needed. */
  #step(): boolean {
    switch (this.#state) {
      case 'head': {
        const head = this.#upTo('\r\n\r\n');
        if (head !== undefined) this.#head(head);
        else if (this.#text.length > MAX_HEAD) throw new Error('the head of the answer has no end');
        return head !== undefined;
      }
      case 'chunk size': {
        const line = this.#upTo('\r\n');
        if (line === undefined) return false;
        const size = Number.parseInt(line, 16);
        if (!(size >= 0)) throw new Error('a chunk of the answer has no size');
        this.#left = size + 2;
        this.#state = size === 0 ? 'trailer' : 'chunk';
        return true;
      }
      case 'trailer': {
        const line = this.#upTo('\r\n');
        if (line === '') this.#state = 'done';
        return line !== undefined;
      }
      case 'body':
      case 'chunk': {
        const passed = Math.min(this.#left, this.#text.length);
        this.#text = this.#text.slice(passed);
        this.#left -= passed;
        if (this.#left > 0) return false;
        this.#state = this.#state === 'body' ? 'done' : 'chunk size';
        return true;
      }
      default:
        this.#text = '';
        return false;
    }
  }

  #head(text: string): void {
    const [first, ...lines] = text.split('\r\n');
    const match = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(first);
    if (match === null) throw new Error('the answer is not HTTP/1');
    this.status = Number(match[2]);
    // Interim: the answer itself follows.
    if (this.status < 200) return;
    for (const line of lines) {
      const at = line.indexOf(':');
      if (at > 0) this.#headers.set(line.slice(0, at).toLowerCase(), line.slice(at + 1).trim());
    }
    this.keepsAlive = match[1] === '1' && !/\bclose\b/i.test(this.header('connection') ?? '');
    const length = this.header('content-length');
    if (this.status === 204 || this.status === 304) this.#state = 'done';
    else if (/\bchunked$/i.test(this.header('transfer-encoding') ?? '')) this.#state = 'chunk size';
    else if (length !== undefined && /^\d+$/.test(length)) {
      this.#left = Number(length);
      this.#state = 'body';
    } else {
      this.keepsAlive = false;
      this.#state = 'until close';
    }
  }

  /** @returns what comes before a mark, and forgets both; undefined where the mark has not come yet. */
  #upTo(mark: string): string | undefined {
    const at = this.#text.indexOf(mark);
    if (at < 0) return undefined;
    const part = this.#text.slice(0, at);
    this.#text = this.#text.slice(at + mark.length);
    return part;
  }
}
