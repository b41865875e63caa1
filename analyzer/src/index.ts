export type { Report } from './report/types.ts';
