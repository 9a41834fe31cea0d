// Embeds the file FATBIN, and lists its bounds for fatbins.cc.
        .section .rodata
        .balign 64
begin:  .incbin FATBIN
end:
        .section towerflow_fatbins, "aw"
        .balign 8
        .quad begin, end
        .section .note.GNU-stack, "", %progbits
