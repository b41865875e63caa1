import type { AttributeValue } from '../model/attributes.ts';
import { decodeValue } from '../model/span-codes.ts';
import type { StringPool } from '../model/strings.ts';
import { FIRST, RecordList } from './record-list.ts';

/** Work that a span states for its whole process: slices too short for a span included. */
export interface StatedWorkRecord {
  readonly request: number;
  /** Index into the resources of the input. */
  readonly resource: number;
  readonly ns: number;
}

/** How busy the event loop of a process was while a span was open, as the span says. */
export interface OpenRecord {
  readonly request: number;
  readonly resource: number;
  /** ns relative to the origin of the requests. */
  readonly startNs: number;
  readonly endNs: number;
  /** 0..1. */
  readonly utilization: number;
}

/** A slice of work with the functions a CPU profile found in it. */
export interface ProfileRecord {
  readonly request: number;
  readonly lengthNs: number;
  /** String id of the JSON list. */
  readonly functions: number;
}

/** What the spans of the requests say about the processes they ran in. */
export interface ProcessRecords {
  readonly work: StatedWorkList;
  readonly open: OpenList;
  readonly profiles: ProfileList;
}

export class StatedWorkList extends RecordList<StatedWorkRecord> {
  request: Int32Array = new Int32Array(FIRST);
  resource: Int32Array = new Int32Array(FIRST);
  ns: Float64Array = new Float64Array(FIRST);

  push({ request, resource, ns }: StatedWorkRecord): void {
    const i = this.next(this.request.length);
    this.request[i] = request;
    this.resource[i] = resource;
    this.ns[i] = ns;
  }

  at(i: number): StatedWorkRecord {
    return { request: this.request[i], resource: this.resource[i], ns: this.ns[i] };
  }
}

export class OpenList extends RecordList<OpenRecord> {
  request: Int32Array = new Int32Array(FIRST);
  resource: Int32Array = new Int32Array(FIRST);
  startNs: Float64Array = new Float64Array(FIRST);
  endNs: Float64Array = new Float64Array(FIRST);
  utilization: Float64Array = new Float64Array(FIRST);

  push(open: OpenRecord): void {
    const i = this.next(this.request.length);
    this.request[i] = open.request;
    this.resource[i] = open.resource;
    this.startNs[i] = open.startNs;
    this.endNs[i] = open.endNs;
    this.utilization[i] = open.utilization;
  }

  at(i: number): OpenRecord {
    return {
      request: this.request[i],
      resource: this.resource[i],
      startNs: this.startNs[i],
      endNs: this.endNs[i],
      utilization: this.utilization[i],
    };
  }
}

export class ProfileList extends RecordList<ProfileRecord> {
  request: Int32Array = new Int32Array(FIRST);
  lengthNs: Float64Array = new Float64Array(FIRST);
  functions: Int32Array = new Int32Array(FIRST);
  readonly #strings: StringPool;

  constructor(strings: StringPool) {
    super();
    this.#strings = strings;
  }

  push({ request, lengthNs, functions }: ProfileRecord): void {
    const i = this.next(this.request.length);
    this.request[i] = request;
    this.lengthNs[i] = lengthNs;
    this.functions[i] = functions;
  }

  at(i: number): ProfileRecord {
    return { request: this.request[i], lengthNs: this.lengthNs[i], functions: this.functions[i] };
  }

  /** @returns the functions of record i, as its span says them; none where that is no list. */
  functionsOf(i: number): readonly AttributeValue[] {
    const value = decodeValue(this.#strings.text(this.functions[i]));
    return Array.isArray(value) ? value : [];
  }
}
