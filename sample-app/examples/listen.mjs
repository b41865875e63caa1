/** Listens on a free port, says which, and ends when it is told to. */
export function listen(server, close = () => {}) {
  server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }));
  process.on('message', async () => {
    server.close();
    server.closeAllConnections();
    await close();
    process.disconnect();
  });
}
