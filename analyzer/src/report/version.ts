declare const __WAITFALL_VERSION__: string | undefined;

/** Version of this package; the build fills it in, sources that run unbuilt say so. */
export const VERSION = typeof __WAITFALL_VERSION__ === 'string' ? __WAITFALL_VERSION__ : '0.0.0-source';
