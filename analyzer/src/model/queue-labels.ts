/**
 * What people call queues: their name, and where several have it (the event loop of each service) also the service, as
 * `eventloop of stock`.
 *
 * @returns by queue
 */
export function queueLabels(
  queues: readonly { readonly name: string; readonly service: string }[],
): string[] {
  const owners = new Map<string, number>();
  for (const { name } of queues) owners.set(name, (owners.get(name) ?? 0) + 1);
  return queues.map(({ name, service }) => (owners.get(name)! > 1 ? `${name} of ${service}` : name));
}
