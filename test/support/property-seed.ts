/**
 * Properties draw from one seed, so that a run can be repeated; fast-check prints it with a failure. `PAGEFENCE_SEED=N`
 * draws others.
 */
import process from 'node:process';
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.PAGEFENCE_SEED ?? 20261201) });
