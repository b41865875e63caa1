export * from '../report/width.ts';
