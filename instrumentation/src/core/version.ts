/** Version of the instrumentation scope of our spans: the package's. */
export const VERSION = '0.1.0';
