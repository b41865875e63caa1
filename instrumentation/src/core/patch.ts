// biome-ignore lint/suspicious/noExplicitAny: wrappers stand in for functions of any shape
type AnyFunction = (...args: any[]) => any;

const kWaitfall = Symbol.for('waitfall.wrapper');

interface Shimmed extends AnyFunction {
  __original?: AnyFunction;
  __unwrap?: () => void;
  __wrapped?: boolean;
  [kWaitfall]?: { inner: AnyFunction };
}

function isShimmed(fn: Shimmed): boolean {
  return typeof fn.__original === 'function' && typeof fn.__unwrap === 'function' && fn.__wrapped === true;
}

/** @returns whether a wrapper of ours is somewhere in a chain of wrappers. */
function isInChain(fn: Shimmed | undefined): boolean {
  for (let at = fn, steps = 0; typeof at === 'function' && steps < 32; steps++) {
    if (at[kWaitfall] !== undefined) return true;
    at = at.__original as Shimmed | undefined;
  }
  return false;
}

/** Methods with a wrapper of ours; another agent's may hide it, for not all of them say what they wrap. */
const wrapped = new WeakMap<object, Set<string>>();

/**
 * Wraps a method that other instrumentations wrap too, without getting in their way: OpenTelemetry's
 * `_wrap` removes whatever wrapper it finds first. Ours looks to them exactly like what it wraps: unwrapped
 * if that is unwrapped; and when they take their own wrapper off through it, ours stays.
 *
 * Does nothing where the method does not exist or is ours already.
 *
 * @param around calls `inner()` for the next function in the chain.
 */
export function wrapMethod(
  target: object | undefined,
  name: string,
  around: (inner: () => AnyFunction) => AnyFunction,
): boolean {
  const holder = target as Record<string, Shimmed> | undefined;
  const original = holder?.[name];
  if (holder === undefined || typeof original !== 'function' || isInChain(original)) return false;
  let names = wrapped.get(holder);
  if (names === undefined) wrapped.set(holder, (names = new Set()));
  if (names.has(name)) return false;
  names.add(name);
  const link = { inner: original as Shimmed };
  const wrapper = around(() => link.inner) as Shimmed;
  Object.defineProperties(wrapper, {
    [kWaitfall]: { value: link },
    name: { value: original.name, configurable: true },
    length: { value: original.length, configurable: true },
    __original: { get: () => link.inner.__original, configurable: true },
    __wrapped: { get: () => isShimmed(link.inner), configurable: true },
    __unwrap: {
      configurable: true,
      get: () => {
        if (!isShimmed(link.inner)) return undefined;
        return () => {
          link.inner = link.inner.__original as Shimmed;
        };
      },
    },
  });
  Object.defineProperty(holder, name, {
    value: wrapper,
    configurable: true,
    writable: true,
    enumerable: Object.prototype.propertyIsEnumerable.call(holder, name),
  });
  return true;
}
