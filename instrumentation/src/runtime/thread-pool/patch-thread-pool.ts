import * as nodeModule from 'node:module';
import { isIP } from 'node:net';
import { wrapMethod } from '../../core/patch.ts';
import { beginLookup, beginWork, type PoolCall } from './pool-call.ts';

// biome-ignore lint/suspicious/noExplicitAny: wrappers stand in for functions of any shape
type Any = any;

/**
 * Functions that give their work to a thread and call back; several steps of one call count as one. Not those that Node
 * makes of these: `rm`, `cp`, and with callbacks `writeFile`, `appendFile` and `truncate`.
 */
const FS = [
  'access chmod chown close copyFile fdatasync fstat fsync ftruncate lstat mkdir mkdtemp open opendir',
  'read readFile readdir readlink rename rmdir stat statfs symlink unlink utimes write writev',
];
const FS_PROMISED = [...FS, 'appendFile truncate writeFile'];
const ZLIB = [
  'brotliCompress brotliDecompress deflate deflateRaw gunzip gzip inflate inflateRaw unzip zstdCompress zstdDecompress',
];
const CRYPTO = [
  'checkPrime generateKey generateKeyPair generatePrime hkdf pbkdf2 randomBytes randomFill scrypt sign verify',
];

/** Whether calls are recorded; wrappers stay in place when it is switched off and only pass on. */
export interface ThreadPoolSwitch {
  threadPool: boolean;
}

/**
 * Records how long `fs`, `zlib`, `crypto` and `dns.lookup` wait for a thread. The wrapped functions keep their
 * names, lengths, own properties (what `util.promisify` looks for), `this`, arguments and exceptions.
 */
export function patchThreadPool(on: ThreadPoolSwitch): void {
  const builtin = (name: string) => process.getBuiltinModule(name) as Any;
  const fs = builtin('node:fs');
  wrapAll(fs, FS, on, (name) => beginWork(`fs.${name}`, 'files'));
  wrapPromised(fs.promises, FS_PROMISED, on);
  wrapAll(builtin('node:zlib'), ZLIB, on, (name) => beginWork(`zlib.${name}`, 'cpu'));
  wrapAll(builtin('node:crypto'), CRYPTO, on, (name) => beginWork(`crypto.${name}`, 'cpu'));
  const dns = builtin('node:dns');
  // An address, or nothing at all, is answered without a thread.
  wrapAll(dns, ['lookup'], on, (_name, [host]) => (host && isIP(host) === 0 ? beginLookup() : undefined));
  nodeModule.syncBuiltinESMExports();
}

function wrapAll(
  module: Any,
  names: readonly string[],
  on: ThreadPoolSwitch,
  begin: (name: string, args: Any[]) => PoolCall | undefined,
): void {
  wrapEach(module, names, (name, inner) => {
    return function (this: unknown, ...args: Any[]) {
      const callback = args.at(-1);
      const call =
        on.threadPool && typeof callback === 'function' ? begun(() => begin(name, args)) : undefined;
      if (call === undefined) return inner().apply(this, args);
      args[args.length - 1] = function (this: unknown, ...results: unknown[]) {
        ended(call);
        return callback.apply(this, results);
      };
      return submit(call, () => inner().apply(this, args));
    };
  });
}

function wrapPromised(module: Any, names: readonly string[], on: ThreadPoolSwitch): void {
  wrapEach(module, names, (name, inner) => {
    return function (this: unknown, ...args: Any[]) {
      const call = on.threadPool ? begun(() => beginWork(`fs.${name}`, 'files')) : undefined;
      if (call === undefined) return inner().apply(this, args);
      const promise = submit(call, () => inner().apply(this, args));
      if (!(promise instanceof Promise)) return promise;
      // The promise that is returned is the one that is observed: a rejection nobody handles stays unhandled.
      return promise.then(
        (value) => {
          ended(call);
          return value;
        },
        (error) => {
          ended(call);
          throw error;
        },
      );
    };
  });
}

function wrapEach(
  module: Any,
  names: readonly string[],
  around: (name: string, inner: () => Any) => Any,
): void {
  for (const name of names.flatMap((line) => line.split(' '))) {
    const original = module?.[name];
    if (typeof original !== 'function' || !wrapMethod(module, name, (inner) => around(name, inner))) continue;
    for (const key of Reflect.ownKeys(original)) {
      if (key === 'length' || key === 'name' || key === 'prototype') continue;
      Object.defineProperty(module[name], key, Object.getOwnPropertyDescriptor(original, key)!);
    }
  }
}

function begun(begin: () => PoolCall | undefined): PoolCall | undefined {
  try {
    return begin();
  } catch {
    return undefined;
  }
}

function submit<T>(call: PoolCall, run: () => T): T {
  let result: T;
  try {
    result = run();
  } catch (error) {
    call.cancel();
    throw error;
  }
  try {
    call.submitted();
  } catch {
    // The call goes on without a measurement.
  }
  return result;
}

function ended(call: PoolCall): void {
  try {
    call.end();
  } catch {
    // Nothing here may reach the service.
  }
}
