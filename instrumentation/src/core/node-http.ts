/**
 * Node's `http` and `https` as `require` gives them. Importing `http` reads each of its exports, and some of these load
 * what few services use (WebSocket and with it undici: 2 MB of heap, 8 MB resident).
 */
export const http: typeof import('node:http') = process.getBuiltinModule('node:http');
export const https: typeof import('node:https') = process.getBuiltinModule('node:https');
