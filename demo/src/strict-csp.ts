/**
 * zod compiles validators with `new Function` where it may. The page's content security policy forbids that, and the
 * mere attempt is logged as a violation. This must run before any schema is made, so it is imported first.
 */
import { config } from 'zod';

config({ jitless: true });
