<?php
// SPDX-License-Identifier: MIT
//
// real_php.php - orders go to another php process, which prices them; bills
// come back by number.

declare(strict_types=1);

const ORDERS = 20000;
const ORDER = 1;
const STOP = 2;
const BILL = 100; // and more: one type per order
const SIZE = 8192;

set_error_handler(function (int $level, string $text): bool {
	throw new RuntimeException($text);
});

function must(bool $is_true, string $what): void
{
	if (!$is_true)
		throw new RuntimeException($what);
}

function order(int $n): array
{
	$items = [];
	for ($i = 0; $i < 1 + $n % 7; $i++)
		$items[] = ['name' => "item $i", 'count' => $n % 13 + $i,
			'price' => 1.25 * ($i + 1)];
	return ['number' => $n, 'items' => $items];
}

function total(array $order): float
{
	return array_sum(array_map(
		fn(array $item): float => $item['count'] * $item['price'],
		$order['items']));
}

function worker(SysvMessageQueue $queue): void
{
	while (true) {
		must(msg_receive($queue, -STOP, $type, SIZE, $order, true, 0,
			$error), "receive: $error");
		if ($type == STOP)
			return;
		must(msg_send($queue, BILL + $order['number'],
			['total' => total($order), 'by' => getmypid()], true,
			true, $error), "send: $error");
	}
}

function shop(int $key): void
{
	$queue = msg_get_queue($key, 0600);
	$worker = proc_open([PHP_BINARY, __FILE__, (string)$key], [], $pipes);
	$pid = proc_get_status($worker)['pid'];
	try {
		for ($n = 0; $n < ORDERS; $n++) {
			must(msg_send($queue, ORDER, order($n), true, true,
				$error), "send: $error");
			// A few stay on their way, and come in another order.
			if ($n % 4 != 3)
				continue;
			for ($m = $n; $m > $n - 4; $m--) {
				must(msg_receive($queue, BILL + $m, $type, SIZE,
					$bill, true, 0, $error),
					"receive: $error");
				must($type == BILL + $m, "type $type");
				must($bill == ['total' => total(order($m)),
					'by' => $pid], "bill $m");
			}
		}
		must(msg_stat_queue($queue)['msg_qnum'] == 0, 'left over');
		must(msg_stat_queue($queue)['msg_lspid'] == $pid, 'lspid');

		must(msg_send($queue, STOP, 0), 'stop');
		must(proc_close($worker) == 0, 'worker failed');
		$worker = null;

		must(msg_set_queue($queue, ['msg_qbytes' => 100]), 'set');
		must(msg_send($queue, 7, str_repeat('x', 100), false, false),
			'fits');
		must(!@msg_send($queue, 7, 'x', false, false, $error) &&
			$error == MSG_EAGAIN, 'full');
		must(!@msg_receive($queue, 7, $type, 10, $text, false,
			MSG_IPC_NOWAIT | MSG_EXCEPT, $error) &&
			$error == MSG_ENOMSG, 'except');
		must(msg_receive($queue, 0, $type, 10, $text, false,
			MSG_NOERROR) && $text == 'xxxxxxxxxx', 'cut');
	} finally {
		if ($worker !== null)
			proc_terminate($worker, 9);
		msg_remove_queue($queue);
	}
	must(!msg_queue_exists($key), 'still there');
}

// A failing @call still calls the handler.
set_error_handler(function (int $level, string $text): bool {
	if (error_reporting() & $level)
		throw new RuntimeException($text);
	return true;
});

try {
	if ($argc > 1)
		worker(msg_get_queue((int)$argv[1]));
	else
		shop(0x53360000 + getmypid() % 65536);
} catch (RuntimeException $e) {
	fwrite(STDERR, $e->getMessage() . "\n");
	exit(1);
}
