/** Every kind of fault. What is added here is planned, fired, counted and reported with the others. */
import type { Kind } from '../kind.js';
import { diskKinds } from './disk.js';
import { modelKinds } from './model.js';
import { personKinds } from './person.js';
import { planKinds } from './plans.js';
import { processKinds } from './processes.js';
import { runKinds } from './runs.js';

export const KINDS: readonly Kind[] = [
  ...processKinds,
  ...modelKinds,
  ...personKinds,
  ...runKinds,
  ...planKinds,
  ...diskKinds,
];
