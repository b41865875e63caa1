export { fastifyAdmission, koaAdmission } from './admission/adapters.ts';
export { type Admission, type AdmissionOptions, admission } from './admission/admission.ts';
export type { SlotStats } from './admission/slots.ts';
export * from './conventions.ts';
export { WaitfallSpanProcessor, type WaitfallSpanProcessorOptions } from './core/span-processor.ts';
export { type HoldOptions, type QueueOptions, segment, withHold, withWait } from './generic.ts';
export { WaitfallInstrumentation } from './instrumentation.ts';
export type { WaitfallConfig } from './settings.ts';
