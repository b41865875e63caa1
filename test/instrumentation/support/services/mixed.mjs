import { createRequire } from 'node:module';
import pg from 'pg';
import { start } from './service.mjs';

const require = createRequire(import.meta.url);
require('pg');
start(require('express'), pg);
await import('express');
