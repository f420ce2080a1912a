export { Random } from '../../src/simulate/random.ts';
