export * from './conventions.ts';
