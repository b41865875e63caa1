/** Digits of a trace id and of a span id in canonical text. */
export const TRACE_DIGITS = 32;
export const SPAN_DIGITS = 16;

const HEX = /^[0-9a-fA-F]+$/;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const ZEROS = /^0*$/;

/**
 * @returns the canonical text of an id: lower-case hex of full width for hex of any case (shorter ids are
 * left-padded) and for base64 of the bytes or of their hex text; any other text, and a number as its text, is
 * opaque and stays as it is. Empty for an absent, empty or all-zero id.
 */
export function canonicalId(value: unknown, digits: number): string {
  if (typeof value === 'string') return fromText(value, digits);
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value) === 0 ? '' : String(value);
  return '';
}

function fromText(text: string, digits: number): string {
  if (text.length <= digits && HEX.test(text)) return nonZero(text.toLowerCase().padStart(digits, '0'));
  if (ZEROS.test(text)) return '';
  return fromBase64(text, digits) ?? text;
}

/** @returns canonical hex, empty for zero, or null when the text is not base64 of such an id. */
function fromBase64(text: string, digits: number): string | null {
  if (text.length > digits * 2 || !BASE64.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  // Decoding is lenient; only a text that encodes back to itself was really base64.
  if (bytes.toString('base64url') !== text.replace(/=+$/, '').replace(/\+/g, '-').replace(/\//g, '_'))
    return null;
  if (bytes.length * 2 === digits) return nonZero(bytes.toString('hex'));
  const inner = bytes.toString('latin1');
  return inner.length === digits && HEX.test(inner) ? nonZero(inner.toLowerCase()) : null;
}

/** @returns the canonical text of an id given as bytes (OTLP protobuf); other lengths are taken as the hex of them. */
export function canonicalIdBytes(bytes: Uint8Array, digits: number): string {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');
  return nonZero(hex.padStart(digits, '0'));
}

function nonZero(hex: string): string {
  return ZEROS.test(hex) ? '' : hex;
}
