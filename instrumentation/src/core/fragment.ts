import type { Attributes } from '@opentelemetry/api';

/** Attributes, and often the name, that many spans have in common: each encoder keeps its bytes of them. */
export class Fragment {
  readonly attributes: Readonly<Attributes>;
  readonly name: string | undefined;
  /** As `attributes` of a protobuf Span; and with its `name`. */
  protobuf: Uint8Array | undefined = undefined;
  protobufNamed: Uint8Array | undefined = undefined;
  /** As elements of a JSON attribute list. */
  json: Uint8Array | undefined = undefined;

  constructor(attributes: Attributes, name?: string) {
    this.name = name;
    this.attributes = Object.freeze(attributes);
  }
}

/** The key of an attribute that many spans have with different values: each encoder keeps its bytes of it. */
export class AttributeKey {
  readonly name: string;
  /** As `key` of a protobuf KeyValue, and the tag of its `value`. */
  protobuf: Uint8Array | undefined = undefined;
  /** As beginning of an element of a JSON attribute list. */
  json: string | undefined = undefined;

  constructor(name: string) {
    this.name = name;
  }
}

/** Takes the attributes of a span one after the other. */
export interface AttributeSink {
  fixed(fragment: Fragment): void;
  text(key: AttributeKey, value: string): void;
  /** A safe integer. */
  integer(key: AttributeKey, value: number): void;
  decimal(key: AttributeKey, value: number): void;
}

/** Collects attributes as the object that span processors expect. */
export class AttributeObject implements AttributeSink {
  readonly attributes: Attributes;

  /** @param attributes what is added to, where that is there already. */
  constructor(attributes: Attributes = {}) {
    this.attributes = attributes;
  }

  fixed(fragment: Fragment): void {
    Object.assign(this.attributes, fragment.attributes);
  }

  text({ name }: AttributeKey, value: string): void {
    this.attributes[name] = value;
  }

  integer({ name }: AttributeKey, value: number): void {
    this.attributes[name] = value;
  }

  decimal({ name }: AttributeKey, value: number): void {
    this.attributes[name] = value;
  }
}
