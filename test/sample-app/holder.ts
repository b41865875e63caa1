/** Opens a database, says where it is, and stays until it is killed. */
import { openDatabase } from '../../sample-app/src/postgres/database.ts';

const { pid, directory } = await openDatabase();
process.send?.({ pid, directory });
setInterval(() => {}, 1000);
