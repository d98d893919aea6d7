// Handles each order once, with redigo.
//
//	go get github.com/gomodule/redigo
//	go run examples/redis/client.go redis://127.0.0.1
//	handle order-17
//	handle order-18
//	seen 1 order-17 again
package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/gomodule/redigo/redis"
)

func main() {
	// Redigo does not send a command twice. A client that does would find the item that its first try has added.
	client, err := redis.DialURL(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	// Ten minutes, and memory that follows the traffic.
	_, err = client.Do("APBF.RESERVE", "orders", "1e-9", 0, "SPAN", 600_000)
	if err != nil && !strings.Contains(err.Error(), "already exists") {
		log.Fatal(err)
	}
	var seen []string
	for _, order := range []string{"order-17", "order-18", "order-17"} {
		isNew, err := redis.Bool(client.Do("APBF.ADDNX", "orders", order))
		if err != nil {
			log.Fatal(err)
		}
		if isNew {
			fmt.Println("handle", order)
		} else {
			seen = append(seen, order)
		}
	}
	fmt.Println("seen", len(seen), strings.Join(seen, " "), "again")
}
