import { ByteWriter } from './byte-writer.ts';

const HEX = Buffer.from('0123456789abcdef');

/** Writes JSON into one growing buffer. */
export class JsonWriter extends ByteWriter {
  /** A string with its quotes. */
  quoted(text: string): void {
    const { length } = text;
    this.reserve(length * 3 + 2);
    const { buffer } = this;
    const start = this.at;
    let at = start;
    buffer[at++] = 0x22;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) {
        this.utf8(JSON.stringify(text));
        return;
      }
      buffer[at++] = code;
    }
    buffer[at++] = 0x22;
    this.at = at;
  }

  utf8(text: string): void {
    this.reserve(text.length * 3);
    this.at += this.buffer.write(text, this.at, 'utf8');
  }

  /** Eight hex digits. */
  hexWord(word: number): void {
    this.reserve(8);
    const { buffer } = this;
    for (let shift = 28; shift >= 0; shift -= 4) buffer[this.at++] = HEX[(word >>> shift) & 15];
  }
}
