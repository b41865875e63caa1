import type { LoadManifest, RequestClass } from './manifest.ts';
import { Template } from './template.ts';

/** One request ready to be sent. */
export interface PreparedRequest {
  readonly class: RequestClass;
  readonly path: string;
  readonly body: string | undefined;
}

/** Draws requests from the mix of a manifest; the same manifest and random source give the same sequence. */
export class RequestMix {
  readonly #classes: readonly RequestClass[];
  readonly #total: number;
  readonly #random: () => number;
  readonly #template: Template;

  constructor(manifest: LoadManifest, random: () => number) {
    this.#classes = manifest.requests;
    this.#total = manifest.requests.reduce((sum, request) => sum + request.share, 0);
    this.#random = random;
    this.#template = new Template(random);
  }

  next(): PreparedRequest {
    let position = this.#random() * this.#total;
    let chosen = this.#classes.at(-1)!;
    for (const request of this.#classes) {
      position -= request.share;
      if (position < 0) {
        chosen = request;
        break;
      }
    }
    return {
      class: chosen,
      path: this.#template.text(chosen.path),
      body: chosen.body === undefined ? undefined : JSON.stringify(this.#template.json(chosen.body)),
    };
  }
}
