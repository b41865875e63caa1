/** Loaded with `node --import @waitfall/instrumentation/register`: instruments a service without a line of code in it. */
export {};
