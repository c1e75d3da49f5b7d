/** The door of src/workspace/apply: what others may use. */
export { createApplyEngine } from './engine.js';
export { type LastChange, type OpenChange, lastChange, openChanges } from './inspect.js';
export {
  appliedRecords,
  appliedUnder,
  endDeadHold,
  endDeadHolds,
  isLocal,
  localHolder,
  standingOfLocal,
} from './lock-owners.js';
export { createLeaseKeeper } from './lock.js';
export { isOpen, recordsOf } from './record.js';
