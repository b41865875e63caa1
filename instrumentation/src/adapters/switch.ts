/** Whether adapters record; wrappers stay in place when it is switched off and only pass on. */
export interface AdapterSwitch {
  adapters: boolean;
}
