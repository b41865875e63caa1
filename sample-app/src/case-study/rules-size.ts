import { parseBytesPerSecond } from '../machine/speed.ts';
import { rulesDocument } from '../service/eligibility.ts';

/**
 * How long one parse of the rules takes by itself. The link makes the row's hold the same everywhere; this does
 * the same for the next limit, the event loop: well above the row's on a slow machine, within the load's top
 * step on a fast one.
 */
const PARSE_MS = 3.5;
const SAMPLE_KIB = 800;
/** A machine that has become slower than this share of what it was is no longer the one the rules were sized for. */
const STEADY_SHARE = 0.7;

/** @returns how fast this machine parses rules at the moment, bytes per second. */
export function measureRulesSpeed(): number {
  return parseBytesPerSecond(rulesDocument(SAMPLE_KIB));
}

/** @returns the size of rules, KiB, that a machine of that speed parses in {@link PARSE_MS}. */
export function rulesKiBFor(bytesPerSecond: number): number {
  return Math.max(10, Math.round(((bytesPerSecond / 1024) * PARSE_MS) / 1000 / 10) * 10);
}

/** What a run met: how fast the machine was when the rules were sized, and around the run, bytes per second. */
export interface MachineSpeed {
  readonly sized: number;
  readonly before: number;
  readonly after: number;
}

/** @returns whether the machine, before or after the run, was so much slower that its CPU times are not its own. */
export function slowed({ sized, before, after }: MachineSpeed): boolean {
  return Math.min(before, after) < STEADY_SHARE * sized;
}
