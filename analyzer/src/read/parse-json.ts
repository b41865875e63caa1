/** A bare number that a double may not hold: 16 digits or more, or an exponent. Quoted digits do not match. */
const RISKY_NUMBER = /[:,[\s]-?(?:\d{16,}|\d+(?:\.\d+)?[eE])/;
const INTEGER = /^-?\d{1,40}$/;
const EXPONENT = /^-?\d+(?:\.\d+)?[eE]\+?\d{1,2}$/;

interface SourceContext {
  readonly source?: string;
}

/**
 * JSON.parse that keeps integers exact: those beyond 2^53 come back as bigint.
 *
 * Texts without such numbers take the plain, much faster path.
 */
export function parseJson(text: string): unknown {
  if (!RISKY_NUMBER.test(text)) return JSON.parse(text);
  return JSON.parse(text, exactInteger as (key: string, value: unknown) => unknown);
}

function exactInteger(_key: string, value: unknown, context: SourceContext): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context.source ?? '';
  if (INTEGER.test(source)) return BigInt(source);
  // 1.76e18 is an integer too; what is too large for a 64-bit time stays a double.
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 64 && EXPONENT.test(source)) {
    return decimalToBigInt(source, 0) ?? value;
  }
  return value;
}

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/;

/**
 * @returns floor(|decimal| * 10^shift) with the sign kept, exactly; null when the text is no decimal number
 * or has more than 60 digits.
 */
export function decimalToBigInt(text: string, shift: number): bigint | null {
  if (shift === 0 && isDigits(text)) return BigInt(text);
  const match = DECIMAL.exec(text);
  if (!match) return null;
  const [, sign, whole, fraction = '', exponent = '0'] = match;
  const digits = whole + fraction;
  if (digits === '') return null;
  const places = Number(exponent) + shift - fraction.length;
  if (digits.length + Math.max(0, places) > 60) return null;
  const magnitude =
    places >= 0 ? BigInt(digits + '0'.repeat(places)) : BigInt(digits.slice(0, places) || '0');
  return sign === '-' ? -magnitude : magnitude;
}

/** The usual case, without a regular expression: those are compiled again after every few garbage collections. */
function isDigits(text: string): boolean {
  if (text.length === 0 || text.length > 20) return false;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return false;
  }
  return true;
}
