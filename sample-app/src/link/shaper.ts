import { connect, createServer, type Server, type Socket } from 'node:net';

/** Below this a timer costs more than the delay it would make; the time still counts against the bandwidth. */
const IMMEDIATE_MS = 0.4;
/** Bytes waiting in one direction beyond which the sender is told to stop. */
const HIGH_WATER_BYTES = 4 << 20;

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

interface Piece {
  readonly dueMs: number;
  readonly bytes: Buffer;
}

/**
 * Carries bytes from one socket to another as a line of `bytesPerMs` would: each piece arrives when its last
 * byte is through, one after the other. No bytes are changed, dropped or reordered.
 */
function shape(from: Socket, to: Socket, bytesPerMs: number): void {
  const queue: Piece[] = [];
  let queuedBytes = 0;
  let lineFreeMs = 0;
  let timer: NodeJS.Timeout | null = null;
  let ended = false;

  function deliver(): void {
    timer = null;
    while (queue.length > 0 && queue[0]!.dueMs <= nowMs() + IMMEDIATE_MS) {
      const { bytes } = queue.shift()!;
      queuedBytes -= bytes.length;
      to.write(bytes);
    }
    if (queuedBytes < HIGH_WATER_BYTES && from.isPaused()) from.resume();
    if (queue.length > 0) timer = setTimeout(deliver, Math.max(1, Math.floor(queue[0]!.dueMs - nowMs())));
    else if (ended) to.end();
  }

  from.on('data', (bytes: Buffer) => {
    lineFreeMs = Math.max(lineFreeMs, nowMs()) + bytes.length / bytesPerMs;
    queue.push({ dueMs: lineFreeMs, bytes });
    queuedBytes += bytes.length;
    if (queuedBytes >= HIGH_WATER_BYTES) from.pause();
    if (timer === null) deliver();
  });
  from.on('end', () => {
    ended = true;
    if (queue.length === 0) to.end();
  });
  from.on('error', () => to.destroy());
  from.on('close', () => {
    if (ended) return;
    if (timer) clearTimeout(timer);
    to.destroy();
  });
}

/**
 * @returns a server, not yet listening, that passes each of its connections on to `host:port` with that
 * bandwidth in each direction.
 */
export function createLink(host: string, port: number, bytesPerMs: number): Server {
  // Half-open: one side may have said all it has to say while the other still answers.
  return createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ host, port, allowHalfOpen: true });
    near.setNoDelay(true);
    far.setNoDelay(true);
    shape(near, far, bytesPerMs);
    shape(far, near, bytesPerMs);
  });
}
