/** A `traceparent` of a trace that is not recorded: for requests that are not part of what is measured. */
export const UNRECORDED = '00-00000000000000000000000000000001-0000000000000001-00';
