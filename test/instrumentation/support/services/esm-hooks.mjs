import { registerEsmHooks } from '../../../../instrumentation/src/register/esm-hooks.ts';

registerEsmHooks();
