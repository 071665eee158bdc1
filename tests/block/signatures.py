#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes signatures that need a driver to make properly: signatures.py lvm|raid|raid-end|luks FILE."""
import os
import struct
import sys


def lvm(size):
    """LVM2 label: sector 1, 'LABELONE', CRC over what follows it (lvm2: lib/label/label.h)."""
    head = struct.pack('<8sQ', b'LABELONE', 1)
    rest = struct.pack('<I8s', 32, b'LVM2 001') + b'a' * 32
    rest += bytes(512 - len(head) - 4 - len(rest))
    crc = 0xf597a6cf
    table = (0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
             0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c)
    for byte in rest:
        crc ^= byte
        crc = (crc >> 4) ^ table[crc & 15]
        crc = (crc >> 4) ^ table[crc & 15]
    return 512, head + struct.pack('<I', crc) + rest


def raid(offset):
    """md super block 1.x (linux: include/uapi/linux/raid/md_p.h)."""
    sb = bytearray(256)
    struct.pack_into('<III', sb, 0, 0xa92b4efc, 1, 0)
    sb[16:32] = bytes(range(1, 17))
    struct.pack_into('<Q', sb, 128, 2048)        # data offset
    struct.pack_into('<Q', sb, 144, offset // 512)
    total = sum(struct.unpack('<64I', sb))
    total = (total & 0xffffffff) + (total >> 32)
    struct.pack_into('<I', sb, 216, total & 0xffffffff)
    return offset, bytes(sb)


def luks(size):
    return 0, b'LUKS\xba\xbe' + struct.pack('>H', 1) + b'aes\0' + bytes(500)


def main():
    kind, path = sys.argv[1:]
    size = os.path.getsize(path)
    offset, data = {
        'lvm': lambda: lvm(size),
        'raid': lambda: raid(4096),
        'raid-end': lambda: raid((size // 512 - 16) // 8 * 8 * 512),
        'luks': lambda: luks(size),
    }[kind]()
    fd = os.open(path, os.O_WRONLY)
    os.pwrite(fd, data, offset)
    os.fsync(fd)


main()
