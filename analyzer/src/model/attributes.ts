/** A value of an OTLP attribute. Integers beyond 2^53 are bigint, bytes are base64 text in an object of their own. */
export type AttributeValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | { readonly bytes: string }
  | readonly AttributeValue[]
  | { readonly [key: string]: AttributeValue };

/** Attributes in the order of the input; a later value of the same key wins. */
export type Attributes = ReadonlyMap<string, AttributeValue>;
