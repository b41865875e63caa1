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

/** Takes the attributes of a span one after the other. */
export interface AttributeSink {
  fixed(fragment: Fragment): void;
  text(key: string, value: string): void;
  /** A safe integer. */
  integer(key: string, value: number): void;
  decimal(key: string, value: number): void;
}

/** Collects attributes as the object that span processors expect. */
export class AttributeObject implements AttributeSink {
  readonly attributes: Attributes = {};

  fixed(fragment: Fragment): void {
    Object.assign(this.attributes, fragment.attributes);
  }

  text(key: string, value: string): void {
    this.attributes[key] = value;
  }

  integer(key: string, value: number): void {
    this.attributes[key] = value;
  }

  decimal(key: string, value: number): void {
    this.attributes[key] = value;
  }
}
