import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';

/**
 * Sends `requests` over keep-alive connections, each as soon as the one before it is answered: a raw client, so
 * that what is measured is the service. Every request carries a sampled trace context.
 */
export async function drive(port: number, path: string, requests: number, connections = 16): Promise<void> {
  let sent = 0;
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1').setNoDelay(true);
      socket.once('error', reject);
      const next = () => {
        if (sent >= requests) {
          socket.destroy();
          resolve();
          return;
        }
        sent++;
        const id = randomBytes(24).toString('hex');
        const traceparent = `00-${id.slice(0, 32)}-${id.slice(32)}-01`;
        socket.write(
          `GET ${path}${sent} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\ntraceparent: ${traceparent}\r\n\r\n`,
        );
      };
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
        const head = text.indexOf('\r\n\r\n');
        const length = /content-length: (\d+)/i.exec(text);
        if (head < 0 || length === null || text.length < head + 4 + Number(length[1])) return;
        if (!text.startsWith('HTTP/1.1 200')) {
          socket.destroy();
          reject(new Error(`${path}: ${text.slice(0, 40)}`));
          return;
        }
        text = '';
        next();
      });
      socket.once('connect', next);
    });
  await Promise.all(Array.from({ length: connections }, one));
}
