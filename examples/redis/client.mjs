// Handles each order once, with node-redis.
//
//     npm install redis
//     node examples/redis/client.mjs redis://127.0.0.1
//     handle order-17
//     handle order-18
//     seen 1 order-17 again

import { createClient } from "redis";

const client = await createClient({ url: process.argv[2] }).connect();
try {
  // Ten minutes, and memory that follows the traffic.
  await client.sendCommand(["APBF.RESERVE", "orders", "1e-9", "0", "SPAN", "600000"]);
} catch (error) {
  if (!error.message.includes("already exists")) throw error;
}
const seen = [];
for (const order of ["order-17", "order-18", "order-17"]) {
  if ((await client.sendCommand(["APBF.ADDNX", "orders", order])) === 1) {
    console.log("handle", order);
  } else {
    seen.push(order);
  }
}
console.log("seen", seen.length, ...seen, "again");
await client.close();
