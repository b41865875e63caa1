const RESOURCE_WAIT_MS = 1_000;

interface AsyncResource {
  asyncAttributesPending?: boolean;
  waitForAsyncAttributes?(): Promise<void>;
}

/** @returns whether detectors are still looking for attributes of one of the resources. */
export function arePending(resources: readonly object[]): boolean {
  return resources.some((resource) => (resource as AsyncResource).asyncAttributesPending === true);
}

/** Waits for what detectors are still looking for when the first spans end; not for long. */
export async function resourcesReady(resources: readonly object[]): Promise<void> {
  for (const resource of resources as AsyncResource[]) {
    if (resource.asyncAttributesPending !== true || resource.waitForAsyncAttributes === undefined) continue;
    const giveUp = new Promise((resolve) => setTimeout(resolve, RESOURCE_WAIT_MS).unref());
    await Promise.race([resource.waitForAsyncAttributes().catch(() => {}), giveUp]);
  }
}
